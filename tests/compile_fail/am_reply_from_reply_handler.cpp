// Replies answer nothing: that is what keeps a flood from deadlocking.
// expect: 'class situ::am::reply_token' has no member named 'reply_short'
#include <situ/fabric/am.h>

void on_thanks(situ::am::reply_token&, int) {}

#ifdef SITU_COMPILE_FAIL_CONTROL
void on_answer(situ::am::token& t, int n) { t.reply_short<on_thanks>(n); }
#else
void on_answer(situ::am::reply_token& t, int n) { t.reply_short<on_thanks>(n); }
#endif
