// Keeps the archive non-empty until the first source lands.
