// SPDX-License-Identifier: Apache-2.0

package erased

// Hooks call the record's methods of the same names. Each is nil if the type does not
// have the method. record is a pointer to the struct.
type Hooks struct {
	BeforeCreate func(record any) error
	BeforeSave   func(record any) error
	Validate     func(record any) error
}
