#include "plan/predict.h"
#include <gtest/gtest.h>
