// Package texts has what a model and its user read when a request has no result.
//
// Four rules hold for each text:
//
//  1. It begins with a capital letter, unless with the name of a method, and ends with a full stop, unless with a list.
//  2. It reports what happened, then where, then what to do next. It says each of them once.
//  3. A name that a client, a server or hub.json gives is escaped, bounded, and in double quotes. A path and a tool that does not
//     exist are in single ones.
//  4. It names of hub.json servers, the rule that decided and what that rule is about, and lines to change; nothing else.
//
// There is no state. All functions may be called by any goroutine. They decide nothing.
package texts
