// A file that does not compile: it refuses the tests that call what is in it, and no other.
#include <acl/acl.h>
void launch_absent(int32_t* out) {
    of_another_runtime(out);
}
