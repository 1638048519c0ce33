// The PTO instructions, as ptokit reads them: declarations of its own, with the names and numbers of the C++ library.
#pragma once
#include <ptokit/comm.hpp>
