// Package oauth logs in at servers that ask for OAuth 2.1.
//
// [Flow.Discover] finds out where a server sends its callers: protected-resource metadata (RFC
// 9728), then the metadata of the authorization server (RFC 8414 or OpenID Connect). A [Discovery]
// is what it found. [Flow.Browser], [Flow.Device] and [Flow.ClientCredentials] log in there and
// return a [TokenSet]; [Flow.Refresh] renews one, and [Flow.Revoke] gives it back. Package logins
// keeps TokenSets. [Flow.ExchangeToken] gets one in exchange for the token of a caller, which it sends to the issuer of that token, or to the
// one that hub.json names, and to no other.
//
// What this program is to the authorization server is decided in this order: the
// client that hub.json names, an https address as its id being a client id metadata
// document; then dynamic registration. Requests for tokens go by golang.org/x/oauth2,
// and what is registered has the format of the Go SDK for MCP.
//
// What official clients take is taken: JSON of any type, times with a fraction, types of
// tokens that no registry lists, a secret without a word on how it is sent, metadata
// that do not list S256, a place of metadata that is none. Each is one rule, in one place,
// and an error names the address, the member and what to do.
//
// A server names the addresses that are spoken to here, so they are not trusted. Each must be
// https, or http on this machine. None may lead to a private address, or to this machine, unless
// hub.json names it, host and port. That is looked at in each address, at each redirect, and again
// in the IP address that is dialled. Requests that carry secrets follow no redirect.
//
// The package has no state, and its methods may be called from anywhere. Errors hold
// what the other side says, cleaned and cut, and no token, code or secret. It refuses
// tokens that need a proof, servers that list PKCE without S256, answers of another issuer
// than the one that was asked, metadata of another resource, and a redirect that another
// program could be brought.
package oauth
