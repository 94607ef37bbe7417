/* A program of C alone for a modelled machine: adds up an array. */
#include <stdio.h>

#if __STDC_VERSION__ != 199901L
#error "the modelled form is not compiled as the program is"
#endif

int main(void) {
  static int numbers[1000];
  long sum = 0;
  for (int i = 0; i < 1000; ++i) numbers[i] = i;
  for (int i = 0; i < 1000; ++i) sum += numbers[i];
  printf("sum %ld\n", sum);
  return 0;
}
