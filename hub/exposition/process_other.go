//go:build !linux

package exposition

func usageNow() (u usage) {
	u.ofSystem()
	return u
}
