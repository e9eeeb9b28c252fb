// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"testing"

	"github.com/kazahana-db/kazahana/placement"
)

func TestPID(t *testing.T) {
	for _, key := range []placement.Key{{Kind: "account", ID: "alice"}, {Kind: "k", ID: "a/b//7"}, {Kind: "種", ID: "/"}, {Kind: "k", ID: "$1"}} {
		pid := pidOf("host:1", key, 7)
		got, epoch, ok := parsePID(pid.Id)
		if !ok || got != key || epoch != 7 || pid.Address != "host:1" {
			t.Errorf("%v of %v is %v, %d, %v", pid, key, got, epoch, ok)
		}
	}
	for _, id := range []string{"", "kazahana", "kazahana/", "kazahana/k", "kazahana/k/7", "kazahana/k/i/x", "other/k/i/7", "kazahana//i/7", "kazahana/k/i/7/child"} {
		if key, epoch, ok := parsePID(id); ok {
			t.Errorf("%q is %v, %d", id, key, epoch)
		}
	}
}

func TestMembersOf(t *testing.T) {
	member := func(name, address string, labels map[string]string) placement.Member {
		return placement.Member{Owner: placement.Owner{Name: name, Incarnation: 1}, Address: address, Kinds: []string{"k"}, Labels: labels}
	}
	system := map[string]string{systemLabel: "id-1"}
	all, faults := membersOf(placement.Topology{Version: 1, Members: []placement.Member{
		member("a", "[::1]:80", system), member("no port", "host", system), member("bad port", "host:http", system), member("of another cluster", "host:1", nil),
	}})
	if len(all) != 1 || all[0].Address() != "[::1]:80" || all[0].Id != "id-1" || !all[0].HasKind("k") {
		t.Errorf("members %v", all)
	}
	if len(faults) != 3 {
		t.Errorf("faults %v", faults)
	}
}

func TestQuery(t *testing.T) {
	q := query{placement.Key{Kind: "k", ID: "a/b"}, 1, 7}
	if got, err := parseQuery(q.asRequest()); err != nil || got != q {
		t.Errorf("%+v is %+v, %v", q, got, err)
	}
	for _, id := range []string{"", "1", "/", "2/0", "-1/0", "0/-1", "x/y"} {
		m := q.asRequest()
		m.RequestId = id
		if got, err := parseQuery(m); err == nil {
			t.Errorf("%q is %+v", id, got)
		}
	}
	if _, err := parseQuery(nil); err == nil {
		t.Error("no message is a query")
	}
}
