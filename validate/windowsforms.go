package validate

import (
	"strings"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/chars"
	"mcphub/validate/detect"
)

// mounts are where Cygwin and WSL have the drives of Windows. Git Bash has them at the root.
var mounts = []string{"", "/", "/cygdrive", "/proc/cygdrive", "/mnt"}

// yieldWindowsForms yields what a text means on Windows beside the path that it looks like: D:x, which starts from where the program was on that
// drive, /c/x of Git Bash, /cygdrive/c/x of Cygwin and /mnt/c/x of WSL, and names that end in dots or blanks, which Windows takes off.
func (j *judge) yieldWindowsForms(f *detect.Finding, text string, yield func(meaning)) {
	if bare := withoutTrailing(text); bare != text && f.Conditional() { // any other finding is refused as it stands
		j.yieldAbsolutes(f, bare, yield)
	}
	if startsOnDrive(text) {
		if _, err := j.FS.Lstat(text[:2] + `\`); err != nil && f.Conditional() {
			return // there is no such drive: it is the name of a member, {"a": 1}, or of a header
		}
		for _, base := range j.baseDirectories() {
			yield(meaning{text: text, path: j.resolveBelow(base, text), base: base})
		}
		return
	}
	if chars.IsSlash(text[0]) && chars.Components(text) > 1 { // /c by itself is mostly an option
		if drive := j.mounted(text); drive != "" {
			j.yieldMounted(meaning{text: text, path: drive}, yield)
		}
	}
}

// withoutTrailing takes the dots and blanks off the end of each name.
func withoutTrailing(text string) string {
	var b strings.Builder
	for begin := 0; begin <= len(text); {
		end := begin + strings.IndexAny(text[begin:]+"/", `/\`)
		name := text[begin:end]
		if bare := strings.TrimRight(name, " ."); bare != "" {
			name = bare
		}
		b.WriteString(name + text[end:min(end+1, len(text))])
		begin = end + 1
	}
	return b.String()
}

// startsOnDrive reports D:x, which starts from a directory of the drive.
func startsOnDrive(text string) bool { return platform.IsDrive(text) && !chars.IsDrive(text) }

// mounted returns the path on a drive of what a shell of Unix has in a directory, "" if it has none.
func (j *judge) mounted(text string) string {
	text = chars.ToSlash(text)
	for _, dir := range mounts {
		if rest, ok := strings.CutPrefix(text, dir); ok {
			if drive := j.Platform.FromMSYS(rest); drive != rest {
				return drive
			}
		}
	}
	return ""
}

// resolveBelow returns the target of a path that a program reads in the directory base.
func (j *judge) resolveBelow(base, text string) string {
	p := j.Platform
	switch {
	case p.IsAbs(text):
		return text
	case !j.Windows || text == "":
	case j.mounted(text) != "":
		return j.mounted(text)
	case chars.IsSlash(text[0]) && platform.IsDrive(base):
		return base[:2] + text
	case platform.IsDrive(text) && !strings.EqualFold(text[:2], base[:min(2, len(base))]):
		return text[:2] + `\` + text[2:]
	case platform.IsDrive(text):
		text = text[2:]
	}
	return p.Join(base, text)
}
