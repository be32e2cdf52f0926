package search

import (
	"strings"
	"sync"
)

// synonyms holds, by the stem of a word or of two words, the stems of the words that
// tools may have in its place. It holds the words of the field, none of one server's.
var synonyms = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(synonymLines) {
		left, right, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		var to []string
		for _, w := range strings.Fields(right) {
			to = append(to, stem(w))
		}
		for from := range strings.SplitSeq(left, ",") {
			var key []string
			for _, w := range strings.Fields(from) {
				key = append(key, stem(w))
			}
			k := strings.Join(key, " ")
			m[k] = append(m[k], to...)
		}
	}
	return m
})

const synonymLines = `
make, new, build, set up: create add generate
add, append, insert: create append insert
create: add new make
show, view, see, look at, display, open, tell: get read list retrieve view
read: get retrieve view
retrieve, fetch, obtain, grab: get retrieve read download fetch extract
list, enumerate, all: list
find, look for, seek, locate, query, where, search, lookup: search find query
change, edit, modify, alter, tweak, fix: update edit modify patch
update: edit modify patch set
delete, remove, erase, rm, trash, bin, wipe, drop, discard, throw away, get rid: delete remove clean trash
run, execute, launch, start, invoke: run execute start exec
stop, end, quit, abort, cancel, kill, terminate, hang: stop kill terminate cancel
save, store, persist, record: write save create
write, put: write create
send, post, publish, submit: send post push
mv, move, rename, relocate: move rename
cp, copy, duplicate: copy duplicate clone
download, upload: download upload
undo, revert, restore: reset revert restore
switch, change to: switch checkout select set
close: close
approve, accept, confirm: approve accept
press, tap, push button: click press
type, enter: type fill input
folder, dir, map of files: directory folder
cwd: directory working
file, doc, document: file document
doc, manual, reference, howto: documentation docs
docs: documentation
tree: tree hierarchy recursive
size, big, huge, large: size
terminal, shell, console, cli, bash, cmd: terminal command shell process console
command: process command exec
program, app, task: process application
cpu, ps: process
grep: search
repo, project: repository project
git, vcs, version control: git
gh: github
gl: gitlab
pr, prs, pull req: pull request
mr: merge request
ci, build, check: status check
bug, ticket, issue: issue
latest: fetch pull
history, past, lately, recent: history log recent
author, wrote, blame: blame author
combine, join: merge
release: tag release
review, reviewer: review
channel, chat, team: channel message slack
message, msg: message
emoji, thumb, like: reaction emoji
mail, email, e-mail, inbox, newsletter: email
unread: unread email
label, tag: label tag
website, webpage, site, page, web: page web url browser
url, link: url
button: click element
form: form
pic, picture, photo, image, img: image screenshot picture
screen: screenshot screen page
screenshot, snapshot: screenshot snapshot
browser, tab: page browser tab
js, javascript, ecmascript: javascript script
error, exception, crash: error log
slow, speed, fast: performance
performance, perf: performance trace
leak: memory heap
ajax, xhr, http: network request
phone, mobile, device: emulate device viewport
mouse: hover mouse
back: back
video, clip, film, movie: video screencast
library, package, framework: library package
react, vue, angular: library documentation
wiki, note: page note
db, database: database sql data
table, column: table schema column
customer, row: query
sql: sql query
k8s, kube, cluster, pod: kubernetes kubectl
deploy, deployment: apply deployment install
container: container pod
rollback: rollout undo rollback
log: log
google, internet, online: search web
headline, news, today: news
restaurant, shop, nearby, near me: place local
article: url content extract
research, deep, dig: research
design, mockup, wireframe, designer: figma design
logo, icon: icon image svg
meeting, appointment, schedule, agenda: event calendar
event: event calendar
availability, available, busy, free: freebusy busy
invite, invitation: invitation event respond
time, clock: time
chart, graph, plot, diagram, draw, visualise, visualize: chart generate diagram graph
share: proportion
company, org: organization
brainstorm, idea: mind
trend, over time: line trend
address: address
distance, far: distance
route, drive, driving, way: directions route
altitude, height, high, mountain: elevation
remember, memorize, fact: memory entities observation
remark: comment
comment: comment
todo: card checklist item task
board: board
user, who, people, person, member, someone: user
lint, style, quality: lint
config, setting, preference: config setting
env: environment
auth, login: authentication account
password, secret: secret
disk, drive: file filesystem
clone, checkout: clone checkout
download: clone
copy: fork
fresh, initialize, initialise, start: init
localhost, tunnel: port forward local
green, pass, passing: status check
how many, count, number of: query sql count
youtube: video
automatic, automatically, rule, always: filter
react to: reaction
`
