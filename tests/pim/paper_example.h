/* The paper's example, for the test that calls it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 if each call succeeded, with the three pointers. */
int run_paper_example(void** pointers);

#ifdef __cplusplus
}
#endif
