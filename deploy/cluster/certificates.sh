#!/bin/sh
# Makes what etcd and the brokers of compose.cluster.yaml know each other by: an authority that signs nothing else, a certificate
# of the members of etcd, and one that the brokers show to them.
#   deploy/cluster/certificates.sh FOLDER [more names or addresses of the members]
# The authority's key stays in the folder: keep it elsewhere, or remove it when no more certificates are needed.
set -eu

folder=$1
shift
mkdir -p -m 700 "$folder"
cd "$folder"

alternatives='DNS:etcd-0,DNS:etcd-1,DNS:etcd-2,DNS:localhost,IP:127.0.0.1'
for more in "$@"; do
  case $more in
    *[!0-9.]*) alternatives="$alternatives,DNS:$more" ;;
    *) alternatives="$alternatives,IP:$more" ;;
  esac
done

new_key='ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'

# shellcheck disable=SC2086 # the words are several
openssl req -x509 -newkey $new_key -days 3650 -subj '/CN=etcd of a Rigel cluster' -keyout ca.key -out ca.pem

# Signs a certificate: its name, what it is used for, and more of its extensions.
sign() {
  # shellcheck disable=SC2086
  openssl req -newkey $new_key -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
  printf 'basicConstraints=CA:FALSE\nextendedKeyUsage=%s\n%s\n' "$2" "$3" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 -extfile "$1.ext" -out "$1.pem"
  rm "$1.csr" "$1.ext"
}

# Members show theirs to each other as well, from either side.
sign etcd serverAuth,clientAuth "subjectAltName=$alternatives"
sign rigel clientAuth ''

# The folder is for its owner alone; in the containers others read the files.
chmod 600 ca.key
chmod 644 etcd.key rigel.key
