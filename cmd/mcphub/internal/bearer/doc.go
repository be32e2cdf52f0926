// Package bearer keeps the token that a hub makes for the clients of its user, where
// hub.json names none.
//
// It lies in the folder of children/consent, which no confined server opens.
//
// There is one for each configuration file: a token for one hub opens no other. It is
// found by the name of the file, with the links of its folder followed, so that it stays
// the same when what the name leads to is replaced. A hub without a file has one of its own.
//
// Concurrency: it keeps nothing in memory. Of several processes that make a token at a
// time one does, and the others read that.
//
// It refuses a file that is a link, is not whole, belongs to another user or is open to one,
// and reports how to mend it. It never makes a new token instead of a bad one: clients that
// were given the former one would be refused without a word.
package bearer
