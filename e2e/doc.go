// Package e2e proves mcphub end to end: the binary as users run it, in front of real child servers and behind real clients.
//
// It holds tests alone. TestMain builds the binary (with the race detector when the tests have it) and the recorder, and brings
// in the npm packages that package.json pins; without Node the tests that need it are skipped, loudly, and with CI=true
// they fail instead; so do the calls that need a browser, without the chromium that the Playwright server drives. Below it lie
// ide, a fake editor that speaks raw JSON-RPC; recorder, a child that writes down every line that reaches it; fixture, a child
// that offers what the official conformance suite asks of a server; opener, a child that opens whatever a call names, and engines,
// one that runs SQL, for what a sandbox must hold; clients, small programs around the official TypeScript SDKs;
// everyday, the servers of the entries that people have in their configurations, and testdata/everyday, small servers for those
// that cannot be had;
// testdata/script, testscript files for the command line.
//
// Concurrency: tests run in parallel, each in directories of its own with a home of its own. The name of that home is what
// every process of a test carries in its environment, and by which what is left over is found. The npm packages are shared
// by all test processes of a checkout under a file lock.
//
// What a hub says to its clients and, where a witness stands there too (talk_test.go), to its children is held against the
// specification by internal/spectest, which knows nothing of the hub.
//
// It refuses to prove anything with the hub's own code: no package of the hub is imported here. A test that expects a refusal
// also shows that the forbidden thing works without the hub, or that the witness would have seen it.
package e2e
