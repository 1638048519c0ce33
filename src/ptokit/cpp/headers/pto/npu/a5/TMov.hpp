// Made by tools/headers.py.
#pragma once
#include <pto/pto-inst.hpp>
