// Package loginpage serves the pages on which people log in at servers for their sessions over HTTP.
//
// A call needs a login that its caller does not have. [Desk.Open] makes a [Ticket], whose link the caller is shown. The
// browser that opens the link proves that it is the caller's, and is then led to the authorization server of the server. It comes back to
// the Desk with the answer, which goes to the one who has opened the Ticket.
//
// # Whose browser it is
//
// A link can be passed on, so a link proves nothing. If it did, anyone could have another person log in for them. The browser
// proves that it is the caller's in one of two ways, and both end with a token that the hub itself admits: the person logs
// in at the issuer of the caller's tokens, or enters the token by which the hub knows the caller. The principal of that token
// must be the principal of the Ticket. A cookie remembers which browser has proved it, and only that browser is shown where the login goes on and
// may bring the answer. So neither a link nor an answer is of use in another browser. The last page names the caller and asks whether to finish:
// who can set a cookie of the hub's host, from another port of it, could else have another person log in for them unseen.
//
// # Who owns the state
//
// The [Desk] has all Tickets, under one leaf mutex. It starts nothing. A Ticket ends when the one who has opened it closes it.
//
// # What it refuses to do
//
// It keeps no token, and writes none, and no code, to a page, an address or a log. It believes no form that another page has
// sent, and no answer whose state it does not wait for. It waits for each answer once. A principal has at most 16 Tickets, and a Ticket ends
// after ten wrong proofs.
package loginpage
