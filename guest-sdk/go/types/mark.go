package types

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// Mark is the owner of a thing in the cloud, as every mark of ownership names it: "aerostat:", the cluster's UID, ":", the Service's
// UID, 82 characters. Names of clusters and Services are chosen by people, and come again; these two never do.
func Mark(cluster Cluster, serviceUID string) string {
	return "aerostat:" + cluster.UID + ":" + serviceUID
}

var digits = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ShortMark is the same in 50 lower-case letters, digits and "-", for clouds whose tags end there. Which of the two a cloud's marks are
// is decided once: one is not the other. A UID that is no UUID is invalid; Kubernetes gives no others.
func ShortMark(cluster Cluster, serviceUID string) (string, error) {
	service, err := hex.DecodeString(strings.ReplaceAll(serviceUID, "-", ""))
	if err != nil || len(service) != 16 || len(serviceUID) != 36 || strings.ToLower(serviceUID) != serviceUID {
		return "", Invalidf("the Service's UID %q is no UUID, and fits into no mark", serviceUID)
	}
	sum := sha256.Sum256([]byte(cluster.UID))
	// The digits of a number: five bits each from its end, so that the first has three of 128.
	padded := append([]byte{0, 0, 0, 0}, service...)
	return "aerostat-" + digits.EncodeToString(sum[:10])[:14] + "-" + digits.EncodeToString(padded)[6:], nil
}
