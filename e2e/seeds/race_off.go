//go:build !race

package seeds

const share = 1
