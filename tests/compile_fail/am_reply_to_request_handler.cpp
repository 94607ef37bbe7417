// expect: the handler of a request takes a situ::am::token&, the handler of a reply a situ::am::reply_token&
#include <situ/fabric/am.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
void on_answer(situ::am::reply_token&, int) {}
#else
void on_answer(situ::am::token&, int) {}
#endif

void on_question(situ::am::token& t) { t.reply_short<on_answer>(1); }
