// SPDX-License-Identifier: Apache-2.0

package emitter

// value is a Go expression of a value to be encoded or decoded.
type value struct {
	expr    string // the value
	address string // its address
	dot     string // the value before a selector or an index
}

// variable is the value of a variable or a field of one.
func variable(name string) value { return value{name, "&" + name, name} }

// pointee is what a pointer points to.
func pointee(pointer string) value { return value{"*" + pointer, pointer, pointer} }
