// Testrun runs go test and prints what go test keeps to itself:
//
//	go run ./e2e/testrun [-missed FILE] [-prove FILE] -- ARGUMENTS-OF-GO-TEST...
//
// It prints a line for each package, and all that a failing package wrote except the output of its tests that passed. At the end it prints each
// test that was skipped with its reason, and the 20 slowest tests. It exits as go test does, and with 1 if no test ran.
//
// With -missed FILE it writes the tests that e2e/needs skipped because the machine lacks something, a package and a test a line. With
// -prove FILE it runs these tests. It then fails if one of them lacks something again, or did not run.
//
// One goroutine reads the events of go test and owns all state. Except for -prove, testrun refuses to judge: whether a test failed is what
// go test said.
package main
