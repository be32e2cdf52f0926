// Package bounds owns the times of tests: how long a test waits for what must come, and how much a measured time may exceed
// the bound that it is held to. It is for tests: no program imports it, and the import rules see to that.
//
// A test that waits for an event waits for Patience. The wait ends with the event, so a long one costs nothing, and a busy
// machine fails no test. A test that measures goes through Of: a program that must stop within 2.5 s is given 25 s, for the
// machine is shared with other tests. The strict bound holds when MCPHUB_STRICT_BOUNDS is set. A step of .ci/long sets it for
// all tests that call Of, and runs nothing beside them; MCPHUB_E2E_LONG does not, since it adds load.
//
// In a bubble of testing/synctest time is exact, so a test there compares with the bound itself.
//
// It owns no state. It refuses to guess at the speed of the machine: there are two factors, one and ten.
package bounds
