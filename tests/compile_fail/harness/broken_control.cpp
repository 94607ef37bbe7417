// expect: not declared
int main() { undeclared(); }
