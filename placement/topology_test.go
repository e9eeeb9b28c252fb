// SPDX-License-Identifier: Apache-2.0

package placement

import "testing"

// The news that a member's earlier incarnation has left comes after the topology
// that lists the later one: that one stays.
func TestMemberLeftLate(t *testing.T) {
	c := newMember(t)
	second := Member{Owner: Owner{"b", 2}, Address: "b:1", Kinds: []string{"other"}}
	if _, err := c.UpdateTopology(Topology{Version: 2, Members: []Member{member("a"), second}}, start); err != nil {
		t.Fatal(err)
	}
	c.OnMemberLeft(Owner{"b", 1}, start)
	if _, err := c.Resolve(Key{"other", "1"}, start); err != nil {
		t.Errorf("after the news of b#1: %v", err)
	}
	c.OnMemberLeft(second.Owner, start)
	if out, err := c.Resolve(Key{"other", "1"}, start); err == nil {
		t.Errorf("after the news of b#2: %+v", out.Resolution)
	}
	if c.OnMemberLeft(Owner{"a", 2}, start); c.State() != StateMember {
		t.Errorf("after the news of another incarnation of its own: %v", c.State())
	}
	if c.OnMemberLeft(Owner{"a", 1}, start); c.State() != StateStopped {
		t.Errorf("after the news of its own end: %v", c.State())
	}
}
