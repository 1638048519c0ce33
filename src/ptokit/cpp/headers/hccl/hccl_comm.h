// As hccl/hccl.h.
#pragma once
#include <hccl/hccl.h>
