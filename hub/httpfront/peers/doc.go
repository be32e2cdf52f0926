// Package peers forwards a request to the hub that keeps its session, so that a balancer may send each request to any hub.
//
// The hubs have the keys of http.stateKey in common. The id of a session names its hub, sealed by such a key. It names no address:
// a hub asks the addresses of http.peers which hub answers there, and the answer is sealed too. Over https the certificate of the address is checked.
// Over http the answer names the address at which the hub was asked: a program without a key at another address can pass the question on, but the
// answer is not for its own address. So neither a client nor a program without a key chooses where a token goes. Who can read or
// change what passes between two addresses is held off by https alone. An answer counts for 20 seconds: an address may go to another program.
//
// The hub that forwards has checked the token. It sends the request as it came, with one header more, which is sealed and bound to the
// request: the name of the hub that is meant, and the address of the client. The other hub checks the token again, takes that
// address for the client's, and forwards nothing that was forwarded. What a request costs is counted there alone.
//
// [Peers] owns what is known of the other hubs, behind a mutex. It starts no goroutine: it looks for a hub while a request waits,
// at most once a second, and each look ends by itself.
//
// It does not balance, keeps no copy of a session, and repeats no request: what was sent may have run.
package peers
