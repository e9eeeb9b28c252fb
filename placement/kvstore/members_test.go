// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/placement/placementtest"
)

// TestHomeOfMembers runs the contract of homes with owners that are members: they join,
// are evicted, and leave.
func TestHomeOfMembers(t *testing.T) {
	placementtest.RunHome(t, func(t testing.TB) placementtest.Home {
		db := enginetest.Open(t)
		registry := must[*membership.Registry](t)(membership.New(db, membership.Options{}))
		store := must[*kvstore.Store](t)(kvstore.New(db, kvstore.Options{Members: registry}))
		joined := map[placement.Owner]*membership.Member{}
		return placementtest.Home{
			Lock: store, Storage: store,
			Join: func(name string) placement.Owner {
				for owner, m := range joined { // a name that starts again has ended before
					if owner.Name == name {
						check(t, m.Leave(ctx))
					}
				}
				m := must[*membership.Member](t)(registry.Join(ctx, membership.Self{Name: name}))
				t.Cleanup(func() { check(t, m.Leave(ctx)) })
				joined[m.Member().Owner] = m
				return m.Member().Owner
			},
			Kill: func(owner placement.Owner) {
				if !must[bool](t)(registry.Evict(ctx, owner)) {
					t.Errorf("%v was no member", owner)
				}
			},
			Leave: func(owner placement.Owner) { check(t, joined[owner].Leave(ctx)) },
		}
	})
}
