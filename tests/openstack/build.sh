#!/usr/bin/env bash
# Installs a whole OpenStack for make test-openstack into target/openstack: Nova, Placement, Glance, Neutron, Octavia and Cinder as
# requirements.txt pins them, by hash, in a virtual environment of their own; MariaDB and RabbitMQ out of Debian's packages, which are unpacked
# there and not installed. In target/openstack/empty are the databases of all services, with their tables, which each start copies. What was made from
# the same files is kept. Keystone is make keystone's.
set -euo pipefail
cd "$(dirname "$0")"

out=$(cd ../.. && pwd)/target/openstack
debian=$out/debian empty=$out/empty
packages=(
	galera-4 libaio1 liburing2 libmariadb3 mariadb-client-core mariadb-server mariadb-server-core
	erlang-asn1 erlang-base erlang-crypto erlang-eldap erlang-inets erlang-mnesia erlang-os-mon erlang-parsetools erlang-public-key
	erlang-runtime-tools erlang-ssl erlang-syntax-tools erlang-tools erlang-xmerl rabbitmq-server
)
services=(placement glance nova_api nova nova_cell0 neutron octavia cinder)
begun=$SECONDS working='' database='' step=0 steps=10

fail() { # cause, next step
	printf 'openstack: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

clean() {
	for running in $working $database; do
		kill "$running" 2>/dev/null || true
	done
	[ -z "$database" ] || wait "$database" 2>/dev/null || true
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a command, whose output goes into the log, and says every 20 s that it does.
stage() { # title, command and arguments
	local title=$1 started=$SECONDS shown=0
	shift
	step=$((step + 1))
	printf '[%s/%s] OpenStack: %s\n' "$step" "$steps" "$title"
	"$@" >>"$out/build.log" 2>&1 &
	working=$!
	while kill -0 "$working" 2>/dev/null; do
		sleep 0.5
		if ((SECONDS - started >= shown + 20)); then
			shown=$((SECONDS - started))
			printf '[%s/%s] OpenStack: %s, %s s\n' "$step" "$steps" "$title" "$shown"
		fi
	done
	wait "$working" || {
		tail -n 20 "$out/build.log" >&2
		fail "$title: failed, see above and target/openstack/build.log" 'make openstack, once the cause is gone'
	}
	working=
}

mark=$(cat requirements.txt build.sh conf/* driver/* | cksum | awk '{ print $1 "-" $2 }')
if [ "$(cat "$out/.built-from" 2>/dev/null)" = "$mark" ]; then
	exit 0
fi

[ "$(id -u)" = 0 ] || fail 'MariaDB and RabbitMQ are started out of their packages, which wants root' 'run it as root, in a machine of its own'
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
	fail 'MariaDB and RabbitMQ come out of Debian, and there is no apt-get' 'run it on Debian 12'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
	fail 'Python 3.11 or newer is not on the PATH' 'apt-get install python3'
command -v openssl >/dev/null || fail 'there is no openssl' 'apt-get install openssl'
python3 -c 'import venv, ensurepip' 2>/dev/null ||
	fail 'this Python makes no virtual environments: its modules venv and ensurepip are missing' 'apt-get install python3-venv'

unpack() {
	rm -rf "$debian" "$debian.unfinished"
	mkdir -p "$debian.unfinished/lists/partial" "$debian.unfinished/cache/archives/partial"
	cd "$debian.unfinished"
	# With lists of its own where the machine has none, or old ones: nothing outside of target/ changes.
	local own=(-o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=root) package
	if ! apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}"; then
		apt-get -qq "${own[@]}" update && apt-get -qq "${own[@]}" download "${packages[@]}" || {
			echo 'the packages cannot be downloaded: look at the sources of apt in /etc/apt, and at the network'
			return 1
		}
	fi
	for package in *.deb; do
		dpkg-deb -x "$package" .
	done
	rm -rf lists cache ./*.deb
	# Its scripts have the folder written in them.
	sed -i "s|/usr/lib/erlang|$debian/usr/lib/erlang|g" usr/lib/erlang/bin/erl usr/lib/erlang/bin/start
	mv "$debian.unfinished" "$debian"
}

environment() {
	rm -rf "$out/env"
	python3 -m venv "$out/env"
	# Two have no wheels: of these the sources are built.
	"$out/env/bin/python" -m pip install --disable-pip-version-check --no-input --quiet --require-hashes \
		--only-binary :all: --no-binary ovs,simplegeneric -r requirements.txt
	# A network that binds each port at once, and volumes of nothing.
	cp -r driver "$out/driver"
	"$out/env/bin/python" -m pip install --disable-pip-version-check --no-input --quiet --no-deps --no-index --no-build-isolation "$out/driver"
}

libraries=$debian/usr/lib/$(uname -m)-linux-gnu
sql() { # statement
	LD_LIBRARY_PATH=$libraries "$debian/usr/bin/mariadb" --no-defaults --socket="$empty/mariadb.sock" --user=root -e "$1"
}

tables() {
	mkdir -p "$empty/mariadb"
	LD_LIBRARY_PATH=$libraries "$debian/usr/bin/mariadb-install-db" --no-defaults --basedir="$debian/usr" --datadir="$empty/mariadb" \
		--user=root --auth-root-authentication-method=normal --skip-test-db
}

answers() {
	local tries=0
	until sql 'SELECT 1'; do
		tries=$((tries + 1))
		[ "$tries" -lt 120 ] || return 1
		sleep 0.5
	done
	local service
	for service in "${services[@]}"; do
		sql "CREATE DATABASE $service CHARACTER SET utf8mb3"
	done
}

configuration() { # of a service
	mkdir -p "$empty/conf"
	sed "s|@FOLDER@|$empty|g; s|@ENVIRONMENT@|$out/env|g; s|@RABBIT@|rabbit://127.0.0.1:1|; s|@[A-Z]*@|http://127.0.0.1:1|g" "conf/$1.conf" >"$empty/conf/$1.conf"
	printf '%s' "$empty/conf/$1.conf"
}

run() { # program and arguments
	timeout 900 nice -n 5 "$out/env/bin/$1" "${@:2}"
}

migrate_placement() { run placement-manage --config-file "$(configuration placement)" db sync; }
migrate_glance() { run glance-manage --config-file "$(configuration glance-api)" db_sync; }
migrate_nova() {
	local file
	file=$(configuration nova)
	run nova-manage --config-file "$file" api_db sync
	run nova-manage --config-file "$file" cell_v2 map_cell0
	run nova-manage --config-file "$file" cell_v2 create_cell --name cell1
	run nova-manage --config-file "$file" db sync
}
migrate_neutron() { run neutron-db-manage --config-file "$(configuration neutron)" upgrade head; }
migrate_cinder() { run cinder-manage --config-file "$(configuration cinder)" db sync; }
migrate_octavia() { run octavia-db-manage --config-file "$(configuration octavia)" upgrade head; }

mkdir -p "$out"
: >"$out/build.log"
rm -f "$out/.built-from"
if [ "$(cat "$out/.unpacked" 2>/dev/null)" != "${packages[*]}" ]; then
	stage 'unpacking MariaDB and RabbitMQ (half a minute, once)' unpack
	printf '%s' "${packages[*]}" >"$out/.unpacked"
else
	steps=$((steps - 1))
fi
wheels=$(cat requirements.txt driver/* | cksum)
if [ "$(cat "$out/.installed" 2>/dev/null)" != "$wheels" ]; then
	stage 'installing Nova, Placement, Glance, Neutron, Octavia and Cinder (two minutes, once)' environment
	printf '%s' "$wheels" >"$out/.installed"
else
	steps=$((steps - 1))
fi
rm -rf "$empty"
stage 'making a database' tables
LD_LIBRARY_PATH=$libraries "$debian/usr/sbin/mariadbd" --no-defaults --basedir="$debian/usr" --datadir="$empty/mariadb" --user=root \
	--socket="$empty/mariadb.sock" --skip-networking --pid-file="$empty/mariadb.pid" --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=16M >>"$out/build.log" 2>&1 &
database=$!
stage 'starting it' answers
for service in placement glance nova neutron octavia cinder; do
	stage "tables of ${service^}" "migrate_$service"
done
kill "$database"
wait "$database" || true
database=
# Octavia writes certificates for machines that never look at them.
openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=stack -keyout "$empty/authority.key" -out "$empty/authority.pem" 2>>"$out/build.log"
rm -rf "$empty/conf" "$empty"/mariadb.{sock,pid}
printf '%s\n' "$mark" >"$out/.built-from"
printf '[%s/%s] OpenStack: done after %s s\n' "$steps" "$steps" $((SECONDS - begun))
