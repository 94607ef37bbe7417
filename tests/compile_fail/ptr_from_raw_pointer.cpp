// A pointer to anything is no pointer into a segment: who knows better says so.
// expect: conversion from 'int\*' to non-scalar type 'situ::ptr<int>'
#include <situ/memory/ptr.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
situ::ptr<int> global(int* address) {
  situ::ptr<int> p{address};
  return p;
}
#else
situ::ptr<int> global(int* address) {
  situ::ptr<int> p = address;
  return p;
}
#endif
