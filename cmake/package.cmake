# package.cmake - what `cmake --install` puts where: libraries, headers, the commands and their
# manual pages, documents, the CMake package and the pkg-config file. An installed tree can be moved as a
# whole.
install(TARGETS fastpair_shared fastpair_static EXPORT fastpairTargets)
install(TARGETS fastpair_command fpgrep)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES docs/fastpair.1 docs/fpgrep.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md docs/format.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fastpair)
configure_package_config_file(cmake/fastpairConfig.cmake.in fastpairConfig.cmake INSTALL_DESTINATION ${package_dir})
# While the major version is 0, a new minor version may change the interface.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(fastpairConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/fastpairConfig.cmake ${PROJECT_BINARY_DIR}/fastpairConfigVersion.cmake
        DESTINATION ${package_dir})
install(EXPORT fastpairTargets NAMESPACE fastpair:: DESTINATION ${package_dir})

# The .pc file finds its prefix from its own place, unless the libraries or headers were given
# absolute folders.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_zstd "")
if(zstd_libraries)
  set(pc_zstd " -lzstd")
endif()
configure_file(cmake/fastpair.pc.in fastpair.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fastpair.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
