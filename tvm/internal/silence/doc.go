// Package silence limits how long a peer of RPC or Disco may be silent. It is not part of package child, because that one is in
// programs without a network too.
package silence
