#ifdef SITU_COMPILE_FAIL_CONTROL
int main() {}
#else
int main() { undeclared(); }
#endif
