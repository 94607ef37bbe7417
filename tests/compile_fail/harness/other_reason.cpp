// expect: a reason that no compiler gives
#ifdef SITU_COMPILE_FAIL_CONTROL
int main() {}
#else
int main() { undeclared(); }
#endif
