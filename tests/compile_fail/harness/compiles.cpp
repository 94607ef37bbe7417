// expect: static assertion failed
int main() {}
