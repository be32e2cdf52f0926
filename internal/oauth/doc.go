// Package oauth logs in at servers that ask for OAuth 2.1.
//
// [Flow.Discover] finds out where a server sends its callers: protected-resource metadata (RFC
// 9728), then the metadata of the authorization server (RFC 8414 or OpenID Connect). A [Discovery]
// is what it found. [Flow.Browser], [Flow.Device] and [Flow.ClientCredentials] log in there and
// return a [TokenSet]; [Flow.Refresh] renews one, and [Flow.Revoke] gives it back. Package logins
// keeps TokenSets.
//
// What this program is to the authorization server is decided in this order: the
// client that hub.json names, an https address as its id being a client id metadata
// document; then dynamic registration. Requests for tokens go by golang.org/x/oauth2,
// the registration and the formats are those of the Go SDK for MCP.
//
// A server names the addresses that are spoken to here, so they are not trusted. Each
// must be https, or http on this machine. None may lead to a private address, or to
// this machine, unless hub.json names it, host and port. That is looked at in each
// address, at each redirect, and once more in the IP address that is dialled. Requests
// that carry secrets follow no redirect.
//
// The package has no state, and its methods may be called from anywhere. Errors hold
// what the other side says, cleaned and cut, and no token, code or secret. It refuses
// tokens of other types than Bearer, servers without PKCE, answers of another issuer
// than the one that was asked, and metadata of another resource.
package oauth
