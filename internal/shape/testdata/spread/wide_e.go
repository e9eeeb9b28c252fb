// SPDX-License-Identifier: Apache-2.0

package spread

// E has nothing to count.
func (Wide) E() {}
