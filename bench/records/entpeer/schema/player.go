// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Player is the entity.
type Player struct{ ent.Schema }

// Fields implements [ent.Interface].
func (Player) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		field.String("team"),
		field.String("country"),
		field.Time("joined_at"),
		field.Int64("score"),
	}
}

// Indexes implements [ent.Interface]. The first one covers what a list of a team needs.
func (Player) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("team", "joined_at", "name", "score"),
		index.Fields("country"),
		index.Fields("score"),
	}
}
