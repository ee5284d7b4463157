#include "net/loop.h"
#include "net/stream.h"
