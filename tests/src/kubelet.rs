//! What a kubelet does for its Node.
