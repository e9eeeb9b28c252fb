// SPDX-License-Identifier: Apache-2.0

package house

//nolint:directives are no sentences about who

type (
	reading      struct{} // a participle
	clockReading struct{} // one, as the last of two words
	held         struct{} // irregular
	LockReleased struct{} // an event: a noun with a participle
	encoding     struct{} // a noun of the field
	box[T any]   struct{ v T }
)

func (*lockFile) Away() {}

func (b *box[T]) value() T { return b.v }
