// Package login offers a login to the person of a client, if a server asks for one and the
// client can show an address (elicitation in URL mode). On a pair of streams the person is the user of this machine, and the browser
// comes back to it. Over HTTP the address is that of a page of the hub, which finds out whose browser has opened it. The address
// alone is given to a client that cannot show it.
//
// # Who owns the state
//
// [Logins] belong to one session, and have one leaf mutex. Each login that is offered is a
// goroutine, which goes on if the call that asked for it is given up. All have ended when
// [Logins.Stop] returns.
//
// # What it refuses to do
//
// It makes no login: the one who offers one reports how. It keeps no token. It does not
// ask again for the login at a server that a person has declined.
package login
