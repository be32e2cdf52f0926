// Package oauthtest is an authorization server and a server that it protects, for
// tests: one in the same process, which knows what it gave to whom, and has faults on
// demand.
//
// A [Server] serves both on loopback, each at an address of its own. It gives out
// refresh tokens that are good once; one that comes a second time ends the login, and
// is counted. Its state has one mutex. Visit does what a person does in a browser.
package oauthtest
