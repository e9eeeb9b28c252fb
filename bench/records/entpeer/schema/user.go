// SPDX-License-Identifier: Apache-2.0

// Package schema is what ent generates the store of users from.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// User is the entity.
type User struct{ ent.Schema }

// Fields implements [ent.Interface].
func (User) Fields() []ent.Field {
	return []ent.Field{
		field.String("email").Unique(),
		field.String("name"),
		field.String("category"),
		field.Time("created_at"),
	}
}

// Indexes implements [ent.Interface].
func (User) Indexes() []ent.Index {
	return []ent.Index{index.Fields("category", "created_at")}
}
