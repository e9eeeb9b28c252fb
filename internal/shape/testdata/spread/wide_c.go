// SPDX-License-Identifier: Apache-2.0

package spread

// C runs; meanwhile nothing else does.
func (Wide) C() {}
