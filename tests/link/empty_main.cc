// Linked against one whole archive at a time: an unresolved symbol here means that the module
// calls into a module that it does not name.
int main() { return 0; }
